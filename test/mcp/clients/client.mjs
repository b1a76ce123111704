/** The TypeScript client of the second line: both eras, over HTTP with its sign-in, by an ID-JAG, or over stdio. */
import {
  Client,
  CrossAppAccessProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { ask, config, converse, createProvider, finish } from './conversation.mjs'

const client = new Client(
  { name: 'client', version: '1' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: config.mode } },
)
const questions = []
client.setRequestHandler('elicitation/create', ({ params }) => {
  questions.push(params.message)
  return { action: 'accept', content: { run: true } }
})

async function listen(uri, change) {
  const updated = new Promise((resolve) => {
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri))
  })
  const subscription = await client.listen({ resourceSubscriptions: [uri] })
  await change()
  const changed = await updated
  await subscription.close()
  return changed
}

const isModern = config.mode !== 'legacy'
const about = () => ({ version: client.getNegotiatedProtocolVersion(), questions })

if (config.command !== undefined) {
  const [command, ...args] = config.command
  await client.connect(new StdioClientTransport({ command, args, env: config.environment }))
  finish({ ...(await converse(client, isModern ? { listen } : {})), ...about() })
} else if (config.secret !== undefined) {
  const provider = new CrossAppAccessProvider({
    clientId: config.clientId,
    clientSecret: config.secret,
    expectedIssuer: config.issuer,
    assertion: (context) => ask({ assertion: context }).then(({ assertion }) => assertion),
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider }))
  const { content } = await client.callTool({ name: 'query', arguments: { statement: 'SELECT 1 AS one' } })
  finish({ ...about(), text: content[0].text })
} else {
  const provider = createProvider()
  const open = () => new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider })
  const first = open()
  await client.connect(first).catch((error) => {
    if (!(error instanceof UnauthorizedError)) throw error
  })
  await first.finishAuth(new URLSearchParams(provider.saved.answer))
  await client.connect(open())
  const found = await converse(client, { provider, ...(isModern ? { listen } : {}) })
  finish({ ...about(), client: provider.saved.information.client_id, ...found })
}
