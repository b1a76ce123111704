// The official server of the Model Context Protocol with its Node adapter: one tool that answers a text. It checks neither tokens nor origins.
import http from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'

const TEXT = 'x'.repeat(6144)

const handle = toNodeHandler(
  createMcpHandler(() => {
    const server = new McpServer({ name: 'peer', version: '1' })
    server.registerTool('iql_help', { description: 'A text' }, () => ({ content: [{ type: 'text', text: TEXT }] }))
    return server
  }),
)

http
  .createServer((request, response) => (request.url === '/healthz' ? response.end('ok') : handle(request, response)))
  .listen(Number(process.argv[2]), '127.0.0.1')
