/** The methods of the protocol: a table of what each answers, in which era, and how long a client may keep the answer. */
import { ProtocolError } from './errors.ts'
import type { Call, Complete, Features } from './features.ts'
import { isObject, type JsonObject } from './json.ts'
import { type Era, LEGACY_VERSIONS, type Message, VERSIONS } from './message.ts'

export interface Method {
  /** The only era that has it; both where absent. */
  readonly era?: Era
  readonly caching?: Caching
  /** Whether the client may be asked before it is answered. */
  readonly mayAsk?: true
  readonly answer: (request: MethodRequest) => JsonObject | Promise<JsonObject>
}

/** Of modern results. */
export interface Caching {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

export interface MethodRequest {
  readonly message: Message
  readonly features: Features
  readonly call: Call
}

export interface ServerInfo {
  readonly name: string
  readonly title: string
  readonly version: string
}

/** No such list depends on the caller. */
const FOR_EVERYBODY: Caching = { ttlMs: 3_600_000, cacheScope: 'public' }
const FOR_A_MINUTE: Caching = { ttlMs: 60_000, cacheScope: 'private' }

/** Answered by a stream of its own. */
export const LISTEN = 'subscriptions/listen'

export function createMethods(serverInfo: ServerInfo, listens: boolean): ReadonlyMap<string, Method> {
  const resources = listens ? { subscribe: true, listChanged: true } : {}
  return new Map<string, Method>([
    ['server/discover', { era: 'modern', caching: FOR_EVERYBODY, answer: (request) => discover(request, resources) }],
    ['initialize', { era: 'legacy', answer: (request) => initialize(request, serverInfo) }],
    ['ping', { era: 'legacy', answer: () => ({}) }],
    ['tools/list', { caching: FOR_EVERYBODY, answer: listTools }],
    ['tools/call', { mayAsk: true, answer: callTool }],
    ['prompts/list', { caching: FOR_EVERYBODY, answer: listPrompts }],
    ['prompts/get', { mayAsk: true, answer: getPrompt }],
    ['resources/list', { caching: FOR_A_MINUTE, answer: listResources }],
    ['resources/templates/list', { caching: FOR_EVERYBODY, answer: listTemplates }],
    ['resources/read', { mayAsk: true, answer: readResource }],
    ['completion/complete', { answer: complete }],
  ])
}

const CAPABILITIES = { tools: {}, prompts: {}, resources: {}, completions: {} }

function discover({ features: { instructions, extensions } }: MethodRequest, resources: JsonObject): JsonObject {
  return { supportedVersions: VERSIONS, capabilities: { ...CAPABILITIES, resources, extensions }, instructions }
}

function initialize(
  { message: { params }, features: { instructions, extensions } }: MethodRequest,
  serverInfo: ServerInfo,
): JsonObject {
  const [usual] = LEGACY_VERSIONS
  const protocolVersion = LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? usual
  return { protocolVersion, capabilities: { ...CAPABILITIES, extensions }, serverInfo, instructions }
}

function listTools({ features: { tools } }: MethodRequest): JsonObject {
  return { tools: tools.map(({ call: _, ...shown }) => shown) }
}

async function callTool({ message: { params }, features: { tools }, call }: MethodRequest): Promise<JsonObject> {
  const { name, arguments: args = {} } = params
  const tool = tools.find((known) => known.name === name)
  if (tool === undefined) throw unknown('tool', tools)
  if (!isObject(args)) throw new ProtocolError('badParams', 'arguments is an object')
  return { ...(await tool.call(args, call)) }
}

function listPrompts({ features: { prompts } }: MethodRequest): JsonObject {
  return {
    prompts: prompts.map(({ get: _, arguments: args, ...shown }) => ({
      ...shown,
      arguments: args.map(({ name, description, required }) => ({ name, description, required })),
    })),
  }
}

async function getPrompt({ message: { params }, features: { prompts }, call }: MethodRequest): Promise<JsonObject> {
  const { name, arguments: args = {} } = params
  const prompt = prompts.find((known) => known.name === name)
  if (prompt === undefined) throw unknown('prompt', prompts)
  if (!isObject(args)) throw new ProtocolError('badParams', 'arguments is an object')
  const given = new Map(Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
  for (const { name, required } of prompt.arguments)
    if (required && !given.has(name))
      throw new ProtocolError('badParams', `The prompt needs the argument ${name}, a text`)
  return { description: prompt.description, ...(await prompt.get(Object.fromEntries(given), call)) }
}

async function listResources({
  message: { params },
  features: { resources },
  call,
}: MethodRequest): Promise<JsonObject> {
  const { cursor } = params
  return { ...(await resources.list(typeof cursor === 'string' ? cursor : undefined, call)) }
}

function listTemplates({ features: { resources } }: MethodRequest): JsonObject {
  return { resourceTemplates: resources.templates.map(({ complete: _, ...shown }) => shown) }
}

async function readResource({
  message: { params, era },
  features: { resources },
  call,
}: MethodRequest): Promise<JsonObject> {
  const { uri } = params
  const found = typeof uri === 'string' ? await resources.read(uri, call) : undefined
  if (found === undefined) throw new ProtocolError('badParams', 'There is no such resource', { uri })
  const { contents, ttlMs } = found
  return era === 'modern' ? { contents, ttlMs, cacheScope: 'private' } : { contents }
}

const MOST_VALUES = 100

async function complete({ message: { params }, features, call }: MethodRequest): Promise<JsonObject> {
  const { ref, argument, context } = params
  if (!isObject(ref) || !isObject(argument) || typeof argument.name !== 'string' || typeof argument.value !== 'string')
    throw new ProtocolError('badParams', 'ref is a prompt or a resource template, argument has a name and a value')
  const find = findCompletion(ref, argument.name, features)
  const typed = argument.value.toLowerCase()
  const others = isObject(context) && isObject(context.arguments) ? context.arguments : {}
  const values = find === undefined ? [] : [...(await find(argument.value, call, others))]
  const isPrefixed = (value: string) => value.toLowerCase().startsWith(typed)
  const sorted = [...values.filter(isPrefixed), ...values.filter((value) => !isPrefixed(value))]
  const completion = {
    values: sorted.slice(0, MOST_VALUES),
    total: sorted.length,
    hasMore: sorted.length > MOST_VALUES,
  }
  return { completion }
}

function findCompletion(ref: JsonObject, argument: string, { prompts, resources }: Features): Complete | undefined {
  if (ref.type === 'ref/prompt') {
    const prompt = prompts.find(({ name }) => name === ref.name)
    if (prompt === undefined) throw unknown('prompt', prompts)
    return prompt.arguments.find(({ name }) => name === argument)?.complete
  }
  const template = resources.templates.find(({ uriTemplate }) => uriTemplate === ref.uri)
  if (template === undefined) throw new ProtocolError('badParams', 'There is no such template', { uri: ref.uri })
  return template.complete.get(argument)
}

function unknown(kind: string, known: readonly { readonly name: string }[]): ProtocolError {
  return new ProtocolError(
    'badParams',
    `There is no such ${kind}: there are ${known.map(({ name }) => name).join(', ')}`,
  )
}
