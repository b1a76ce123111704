/** One request and its answer at a door that stands before the application: what every answer has, and little work besides. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type Standing, standingHeaders } from './doors.ts'
import { requestIdOf, SECURITY_HEADERS } from './every-answer.ts'
import type { Logger } from './log.ts'
import { readSearch, type SearchValues } from './search.ts'

export interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As it is read here: below the base, and text. */
  readonly url: string
  /** The client's, behind trusted proxies too. */
  readonly address: string
  /** The pattern of the path. */
  readonly route: string
  /** What stands in the path where the pattern has a name. */
  readonly named: string
  readonly logger: Logger
}

export class Exchange implements Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: string
  readonly address: string
  readonly route: string
  readonly named: string
  readonly logger: Logger
  readonly id: string
  body: Buffer = NOTHING
  #query: SearchValues | undefined
  #standings: readonly Standing[] = NO_STANDINGS
  #headers: Readonly<Record<string, string>> | undefined

  constructor({ request, response, url, address, route, named, logger }: Asked) {
    this.request = request
    this.response = response
    this.url = url
    this.address = address
    this.route = route
    this.named = named
    this.logger = logger
    this.id = requestIdOf(request)
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers
  }

  get path(): string {
    const end = this.url.indexOf('?')
    return end < 0 ? this.url : this.url.slice(0, end)
  }

  get query(): SearchValues {
    this.#query ??= readSearch(this.url)
    return this.#query
  }

  /** Its lines carry the id of the request. */
  get log(): Logger {
    return this.logger.child({ reqId: this.id })
  }

  /** Where the caller stands with its limits; what is said last counts. */
  say(standings: readonly Standing[]): void {
    if (standings.length > 0) this.#standings = standings
  }

  /** A header of the answer, be it a refusal. */
  header(name: string, value: string): void {
    this.#headers = { ...this.#headers, [name]: value }
  }

  /** A text leaves in one piece with its head, which costs least. */
  send(type: string, body: string | Buffer): void {
    const head = this.#head()
    head['content-type'] = type
    head['content-length'] = String(Buffer.byteLength(body))
    this.response.writeHead(200, head).end(body)
  }

  /** For a body that is written piece by piece, and ended, by the caller. */
  begin(type: string, headers: Readonly<Record<string, string>> = {}): ServerResponse {
    return this.response.writeHead(200, { ...this.#head(), ...headers, 'content-type': type })
  }

  sendNothing(): void {
    this.response.writeHead(204, this.#head()).end()
  }

  refuse(status: number, headers: Readonly<Record<string, string>>, type: string, body: string): void {
    if (this.response.headersSent) {
      this.response.destroy()
      return
    }
    const head = { ...this.#head(), ...headers, 'content-type': type }
    this.response.writeHead(status, { ...head, 'content-length': String(Buffer.byteLength(body)) }).end(body)
  }

  #head(): Record<string, string> {
    const head = { ...SECURITY_HEADERS, 'request-id': this.id }
    if (this.#standings.length === 0 && this.#headers === undefined) return head
    const standing = this.#standings.length === 0 ? {} : standingHeaders(this.#standings)
    return { ...head, ...standing, ...this.#headers }
  }
}

const NOTHING = Buffer.alloc(0)
const NO_STANDINGS: readonly Standing[] = []
