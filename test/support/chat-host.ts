/** A chat in a browser that shows the pages of tools: the official AppBridge of MCP Apps with the official client, from npm, bundled for a page. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { npm } from './npm.ts'

const PACKAGES = ['@modelcontextprotocol/ext-apps@2.0.4', '@modelcontextprotocol/client@2.4.0', 'zod@4']

/** `openChart` of the page: calls the tool, shows its page in a frame, and answers what the page asks for. */
const HOST = `
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { AppBridge, getToolUiResourceUri, PostMessageTransport, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/app-bridge'

const UI = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } }

window.chat = { sizes: [], bridge: undefined, client: undefined, result: undefined }

window.openChart = async ({ url, token, args, theme, withMeta = true, withTools = true, height, mode = 'auto' }) => {
  const client = new Client({ name: 'chat', version: '1' }, { capabilities: UI, versionNegotiation: { mode } })
  const headers = { authorization: 'Bearer ' + token }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  const { tools } = await client.listTools()
  const uri = getToolUiResourceUri(tools.find(({ name }) => name === 'chart'))
  const { contents: [content] } = await client.readResource({ uri })
  if (content.mimeType !== RESOURCE_MIME_TYPE) throw new Error(content.mimeType)
  const frame = document.createElement('iframe')
  frame.sandbox = 'allow-scripts'
  frame.style.cssText = 'width:100%;border:0;height:' + (height ?? 300) + 'px'
  document.body.append(frame)
  const capabilities = { openLinks: {}, ...(withTools ? { serverTools: {} } : {}) }
  const hostContext = { theme, displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'], platform: 'web',
    ...(height === undefined ? {} : { containerDimensions: { height, width: innerWidth } }) }
  // With a client, the bridge passes on the calls of the page by itself.
  const bridge = new AppBridge(withTools ? client : null, { name: 'chat', version: '1' }, capabilities, { hostContext })
  bridge.onsizechange = (size) => {
    window.chat.sizes.push(size)
    if (height === undefined && size.height) frame.style.height = size.height + 'px'
  }
  bridge.onrequestdisplaymode = async ({ mode: wanted }) => {
    bridge.setHostContext({ ...hostContext, displayMode: wanted })
    frame.style.height = wanted === 'fullscreen' ? '100vh' : '400px'
    return { mode: wanted }
  }
  const ready = new Promise((resolve) => { bridge.oninitialized = () => resolve() })
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  frame.srcdoc = content.text
  await ready
  await bridge.sendToolInput({ arguments: args })
  const result = await client.callTool({ name: 'chart', arguments: args })
  Object.assign(window.chat, { bridge, client, result, hostContext, meta: content._meta, frame })
  await bridge.sendToolResult(withMeta ? result : { ...result, _meta: undefined })
  return { text: result.content[0].text, isError: result.isError === true, era: client.getNegotiatedProtocolVersion?.() }
}
`

export interface ChatHost {
  readonly url: string
  close(): Promise<void>
}

export async function serveChatHost(): Promise<ChatHost> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-host-'))
  await writeFile(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', ...PACKAGES], folder)
  await writeFile(join(folder, 'host.js'), HOST)
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'host.js')],
    bundle: true,
    format: 'iife',
    platform: 'browser',
    write: false,
    logLevel: 'error',
  })
  const script = outputFiles[0]?.text ?? ''
  const server = createServer(({ url }, response) => {
    if (url === '/host.js') response.setHeader('content-type', 'text/javascript').end(script)
    else
      response
        .setHeader('content-type', 'text/html')
        .end('<!DOCTYPE html><title>Chat</title><body style="margin:0"><script src="/host.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
