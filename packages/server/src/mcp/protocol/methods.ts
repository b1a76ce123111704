/** The methods of the protocol: a table of what each answers, in which era, and how long a client may keep the answer. */
import { ProtocolError } from './errors.ts'
import type { Call, Features, JsonObject } from './features.ts'
import { type Era, isObject, LEGACY_VERSIONS, type Message, VERSIONS } from './message.ts'

export interface Method {
  /** The only era that has it; both where absent. */
  readonly era?: Era
  readonly caching?: Caching
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

/** The same for everybody: no list depends on who asks. */
const FOR_EVERYBODY: Caching = { ttlMs: 3_600_000, cacheScope: 'public' }

export function createMethods(serverInfo: ServerInfo): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    [
      'server/discover',
      {
        era: 'modern',
        caching: FOR_EVERYBODY,
        answer: ({ features }) => ({
          supportedVersions: VERSIONS,
          capabilities: CAPABILITIES,
          instructions: features.instructions,
        }),
      },
    ],
    [
      'initialize',
      {
        era: 'legacy',
        answer: ({ message: { params }, features }) => ({
          protocolVersion: LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? LEGACY_VERSIONS[0],
          capabilities: CAPABILITIES,
          serverInfo,
          instructions: features.instructions,
        }),
      },
    ],
    ['ping', { era: 'legacy', answer: () => ({}) }],
    [
      'tools/list',
      {
        caching: FOR_EVERYBODY,
        answer: ({ features }) => ({ tools: features.tools.map(({ call: _, ...shown }) => shown) }),
      },
    ],
    ['tools/call', { answer: callTool }],
  ])
}

const CAPABILITIES = { tools: {} }

async function callTool({ message: { params }, features, call }: MethodRequest): Promise<JsonObject> {
  const { name, arguments: args = {} } = params
  const tool = features.tools.find((known) => known.name === name)
  if (tool === undefined) {
    const names = features.tools.map((known) => known.name).join(', ')
    throw new ProtocolError('badParams', `There is no such tool. The tools are ${names}`)
  }
  if (!isObject(args)) throw new ProtocolError('badParams', 'arguments is an object')
  return { ...(await tool.call(args, call)) }
}
