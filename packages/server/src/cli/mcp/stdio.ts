/**
 * Carries messages of the Model Context Protocol between stdin and stdout of a local assistant and POST /mcp: one line is one message, in
 * both eras. Nothing else is written to stdout.
 */
import { createInterface } from 'node:readline'
import type { Gate } from '../gate.ts'
import { asObject, parseJson } from '../output/json.ts'

export interface StdioEnv {
  readonly url: string
  readonly auth: Gate['auth']
  readonly send: Gate['fetch']
  readonly input: NodeJS.ReadableStream
  readonly write: (line: string) => void
}

type Message = Readonly<Record<string, unknown>>

const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
const INTERNAL = -32603

export class StdioBridge {
  readonly #env: StdioEnv
  /** What is being asked, by the JSON text of its id. */
  readonly #asked = new Map<string, AbortController>()
  readonly #open = new Set<Promise<void>>()
  /** Of clients from before 2026: what `initialize` agreed on. */
  #version: string | undefined

  constructor(env: StdioEnv) {
    this.#env = env
  }

  /** Resolves when the input has ended and everything is answered. */
  async run(): Promise<void> {
    for await (const line of createInterface({ input: this.#env.input, crlfDelay: Infinity })) {
      if (line.trim() === '') continue
      const passing = this.#pass(line).finally(() => this.#open.delete(passing))
      this.#open.add(passing)
      // Later requests have the version that it agrees on.
      if (asMessage(line).method === 'initialize') await passing
    }
    await Promise.all(this.#open)
  }

  async #pass(line: string): Promise<void> {
    const message = asMessage(line)
    if (message.method === 'notifications/cancelled') {
      const { requestId } = asObject(message.params)
      this.#asked.get(JSON.stringify(requestId))?.abort()
      return
    }
    const key = JSON.stringify(message.id)
    const asking = new AbortController()
    if (message.id !== undefined) this.#asked.set(key, asking)
    try {
      await this.#answer(await this.#post(line, message, asking.signal), message)
    } catch (error) {
      // A request that was cancelled gets no answer.
      if (!asking.signal.aborted) this.#fail(message, error instanceof Error ? error.message : String(error))
    } finally {
      this.#asked.delete(key)
    }
  }

  async #post(body: string, message: Message, signal: AbortSignal): Promise<Response> {
    const { auth, url } = this.#env
    const send = (token: string) => {
      const headers = { ...this.#headers(message), authorization: `Bearer ${token}` }
      return this.#env.send(url, { method: 'POST', headers, body, signal })
    }
    const token = await auth.token()
    const response = await send(token)
    // The token was revoked, or lives shorter than our clock says.
    return response.status === 401 ? send(await auth.token(token)) : response
  }

  #headers({ method, params }: Message): Record<string, string> {
    const { _meta: meta, name, uri } = asObject(params)
    const modern = asObject(meta)[META_VERSION]
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    if (typeof modern !== 'string')
      return this.#version === undefined ? headers : { ...headers, 'mcp-protocol-version': this.#version }
    const named = name ?? uri
    return {
      ...headers,
      'mcp-protocol-version': modern,
      'mcp-method': String(method),
      ...(typeof named === 'string' && { 'mcp-name': headerText(named) }),
    }
  }

  async #answer(response: Response, message: Message): Promise<void> {
    const type = response.headers.get('content-type') ?? ''
    if (type.startsWith('text/event-stream')) return this.#passEvents(response, message)
    const text = await response.text()
    if (text === '') return
    const reply = asMessage(text)
    if (reply.jsonrpc !== '2.0') {
      this.#fail(message, typeof reply.detail === 'string' ? reply.detail : `The server answered ${response.status}`)
      return
    }
    if (message.method === 'initialize') this.#noteVersion(reply)
    this.#write(text)
  }

  #noteVersion(reply: Message): void {
    const { protocolVersion } = asObject(reply.result)
    if (typeof protocolVersion === 'string') this.#version = protocolVersion
  }

  /** Each event is a message; the last one is the answer. */
  async #passEvents({ body }: Response, message: Message): Promise<void> {
    let rest = ''
    let isAnswered = false
    for await (const text of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue
        const data = line.slice('data: '.length)
        isAnswered ||= Object.hasOwn(asMessage(data), 'id')
        this.#write(data)
      }
    }
    if (!isAnswered) this.#fail(message, 'The server ended the reply before the answer')
  }

  #fail({ id }: Message, text: string): void {
    if (id === undefined) process.stderr.write(`${text}\n`)
    else this.#write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: INTERNAL, message: text } }))
  }

  /** One line, whatever the server wrote. */
  #write(message: string): void {
    this.#env.write(`${message.replaceAll(/[\r\n]+/g, ' ')}\n`)
  }
}

function asMessage(text: string): Message {
  return asObject(parseJson(text))
}

/** What a header cannot have is sent in Base64. */
function headerText(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}
