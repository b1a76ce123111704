/** The tools, prompts and resources that the conformance suite of the Model Context Protocol expects of a server, for the core alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ProtocolError } from '../../packages/server/src/mcp/protocol/errors.ts'
import type { Call, Features, Tool } from '../../packages/server/src/mcp/protocol/features.ts'
import { toolError, toolResult } from '../../packages/server/src/mcp/protocol/features.ts'
import type { JsonObject } from '../../packages/server/src/mcp/protocol/json.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=='
const NOTHING = { type: 'object', properties: {} }
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const text = (value: string) => ({ type: 'text', text: value })
const resource = (uri: string, mimeType: string, value: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
})

function tool(name: string, call: Tool['call'], inputSchema: JsonObject = NOTHING): Tool {
  return { name, description: `The suite calls it: ${name}`, inputSchema, call }
}

const content = (name: string, ...parts: readonly JsonObject[]): Tool => tool(name, async () => ({ content: parts }))

function form(message: string, member: string, type = 'string') {
  const requestedSchema = { type: 'object', properties: { [member]: { type } }, required: [member] }
  return { method: 'elicitation/create', params: { message, requestedSchema } }
}

const sampling = (question: string, maxTokens: number) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(question) }], maxTokens },
})
const roots = { method: 'roots/list', params: {} }

/** The member of an accepted form; undefined if the person did not answer. */
function accepted({ answers }: Call, key: string, member: string): string | undefined {
  const { [key]: answer } = answers as Record<
    string,
    { action?: string; content?: Record<string, unknown> } | undefined
  >
  const value = answer?.action === 'accept' ? answer.content?.[member] : undefined
  return value === undefined ? undefined : String(value)
}

async function greet(_args: JsonObject, call: Call) {
  const name = accepted(call, 'user_name', 'name')
  if (name === undefined) call.ask({ user_name: form('What is your name?', 'name') })
  return toolResult(`Hello, ${name}!`)
}

async function confirm(_args: JsonObject, call: Call) {
  if (accepted(call, 'confirm', 'ok') === undefined)
    call.ask({ confirm: form('Please confirm', 'ok', 'boolean') }, 'kept')
  return toolResult(call.state === 'kept' ? 'state-ok' : 'state lost')
}

const MULTIPLE = {
  user_name: form('What is your name?', 'name'),
  greeting: sampling('Generate a greeting', 50),
  client_roots: roots,
}

/** `schema` is that of the suite's tool for JSON Schema. */
const SCHEMA_2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const TOOLS: readonly Tool[] = [
  content('test_simple_text', text('This is a simple text response for testing.')),
  content('test_image_content', image),
  content('test_audio_content', { type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  content(
    'test_embedded_resource',
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  content(
    'test_multiple_content_types',
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  tool('test_error_handling', async () => toolError('This tool intentionally returns an error for testing')),
  tool('test_tool_with_progress', async (_args, call) => {
    for (const done of [0, 50, 100]) {
      call.progress(done, 100)
      await sleep(50)
    }
    return toolResult('Done')
  }),
  tool('test_missing_capability', async (_args, call) => {
    const requiredCapabilities = { sampling: {} }
    if (!call.canAsk('sampling/createMessage'))
      throw new ProtocolError('missingCapability', 'This needs sampling', { requiredCapabilities })
    return toolResult('The client can sample')
  }),
  tool('test_streaming_elicitation', greet),
  tool('test_logging_tool', async () => toolResult('Nothing is logged to clients')),
  tool('json_schema_2020_12_tool', async () => toolResult('{}'), SCHEMA_2020),
  tool('test_input_required_result_elicitation', greet),
  tool('test_input_required_result_sampling', async (_args, call) => {
    const { capital_question: answer } = call.answers as Record<string, { content?: { text?: string } } | undefined>
    if (answer === undefined) call.ask({ capital_question: sampling('What is the capital of France?', 100) })
    return toolResult(answer?.content?.text ?? '')
  }),
  tool('test_input_required_result_list_roots', async (_args, call) => {
    if (call.answers.client_roots === undefined) call.ask({ client_roots: roots })
    return toolResult(JSON.stringify(call.answers.client_roots))
  }),
  tool('test_input_required_result_request_state', confirm),
  tool('test_input_required_result_tampered_state', confirm),
  tool('test_input_required_result_multiple_inputs', async (_args, call) => {
    if (Object.keys(MULTIPLE).some((key) => call.answers[key] === undefined)) call.ask(MULTIPLE, 'multiple')
    return toolResult(JSON.stringify(call.answers))
  }),
  tool('test_input_required_result_capabilities', async (_args, call) => {
    if (Object.keys(call.answers).length === 0) call.ask(MULTIPLE)
    return toolResult(JSON.stringify(call.answers))
  }),
  tool('test_input_required_result_multi_round', async (_args, call) => {
    const name = (call.state as string | undefined) ?? accepted(call, 'step1', 'name')
    if (name === undefined) call.ask({ step1: form('Step 1: What is your name?', 'name') })
    const colour = accepted(call, 'step2', 'color')
    if (colour === undefined) call.ask({ step2: form('Step 2: What is your favorite color?', 'color') }, name)
    return toolResult(`${name} likes ${colour}`)
  }),
]

const noComplete = new Map()

export const DIAGNOSTICS: Features = {
  instructions: 'For the conformance suite.',
  extensions: {},
  tools: TOOLS,
  prompts: [
    {
      name: 'test_simple_prompt',
      description: 'Simple',
      arguments: [],
      get: async () => ({ messages: [{ role: 'user', content: text('This is a simple prompt for testing.') }] }),
    },
    {
      name: 'test_prompt_with_arguments',
      description: 'With arguments',
      arguments: ['arg1', 'arg2'].map((name) => ({
        name,
        description: name,
        required: true,
        complete: async () => ['paris', 'park', 'party'],
      })),
      get: async ({ arg1, arg2 }) => ({
        messages: [{ role: 'user', content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
      }),
    },
    {
      name: 'test_prompt_with_embedded_resource',
      description: 'With a resource',
      arguments: [{ name: 'resourceUri', description: 'URI', required: true }],
      get: async ({ resourceUri = '' }) => ({
        messages: [
          { role: 'user', content: resource(resourceUri, 'text/plain', 'Embedded resource content for testing.') },
          { role: 'user', content: text('Please process the embedded resource above.') },
        ],
      }),
    },
    {
      name: 'test_prompt_with_image',
      description: 'With an image',
      arguments: [],
      get: async () => ({
        messages: [
          { role: 'user', content: image },
          { role: 'user', content: text('Please analyze the image above.') },
        ],
      }),
    },
    {
      name: 'test_input_required_result_prompt',
      description: 'Asks',
      arguments: [],
      async get(_args, call) {
        const context = accepted(call, 'user_context', 'context')
        if (context === undefined) call.ask({ user_context: form('What context should the prompt use?', 'context') })
        return { messages: [{ role: 'user', content: text(`In the context ${context}`) }] }
      },
    },
  ],
  resources: {
    templates: [
      {
        uriTemplate: 'test://template/{id}/data',
        name: 'template',
        description: 'A template',
        mimeType: 'application/json',
        complete: noComplete,
      },
    ],
    list: async () => ({
      resources: [
        { uri: 'test://static-text', name: 'static-text', description: 'Text', mimeType: 'text/plain' },
        { uri: 'test://static-binary', name: 'static-binary', description: 'An image', mimeType: 'image/png' },
      ],
    }),
    async read(uri) {
      const contents = readContents(uri)
      return contents && { contents: [{ uri, ...contents }], ttlMs: 1000 }
    },
  },
}

function readContents(uri: string): JsonObject | undefined {
  if (uri === 'test://static-text')
    return { mimeType: 'text/plain', text: 'This is the content of the static text resource.' }
  if (uri === 'test://static-binary') return { mimeType: 'image/png', blob: PNG }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  return id === undefined
    ? undefined
    : { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
}
