/** The TypeScript SDK of the first line: 2025-11-25, over HTTP with its sign-in, or over stdio. */
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { config, converse, createProvider, finish } from './conversation.mjs'

const client = new Client({ name: 'sdk', version: '1' }, { capabilities: { elicitation: {} } })
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { run: true } }))

if (config.command !== undefined) {
  const [command, ...args] = config.command
  await client.connect(new StdioClientTransport({ command, args, env: config.environment }))
  finish({ version: client.transport?.protocolVersion, ...(await converse(client)) })
} else {
  const provider = createProvider()
  const open = () => new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider })
  const first = open()
  await client.connect(first).catch((error) => {
    if (!(error instanceof UnauthorizedError)) throw error
  })
  await first.finishAuth(provider.saved.answer.code)
  const transport = open()
  await client.connect(transport)
  finish({
    version: transport.protocolVersion,
    client: provider.saved.information.client_id,
    ...(await converse(client, { provider })),
  })
}
