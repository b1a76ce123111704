/** Documents that are the same for everybody, such as the discovery document: who asks for one plainly is answered before the application is asked. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../protocol/refusal.ts'
import { type Door, type Doors, doorOf, standingHeaders } from './doors.ts'
import { type Answered, requestIdOf, SECURITY_HEADERS } from './every-answer.ts'
import { answerProblem, FAULT } from './problem.ts'

export interface Document {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/** By path: the document as it stands now; as long as it stands, the same object. */
export type Documents = ReadonlyMap<string, () => Document>

/** For every way to ask: another case, a query, HEAD, a method that is not taken. */
export function registerDocuments(app: FastifyInstance, documents: Documents): void {
  for (const [path, read] of documents) {
    app.get(path, (_request, reply) => {
      const { headers, text } = read()
      return reply.headers(headers).send(text)
    })
  }
}

export interface DocumentsEnv {
  readonly base: string
  readonly doors: Pick<Doors, 'enter'>
  readonly addressOf: (request: IncomingMessage) => string
  readonly note: (answered: Answered) => void
  readonly onError: (error: unknown, requestId: string) => void
}

/** For GET of the very path, which is how everybody asks: what an application would add to each request is spared. */
export function documentsFirst(documents: Documents, env: DocumentsEnv, otherwise: RequestListener): RequestListener {
  const places = new Map<string, Place>()
  for (const [path, read] of documents) {
    const place = { path, door: doorOf(path), read, prepared: undefined }
    places.set(path, place).set(env.base + path, place)
  }
  return (request, response) => {
    const place = request.method === 'GET' ? places.get(request.url ?? '') : undefined
    if (place === undefined) otherwise(request, response)
    else answer(place, request, response, env)
  }
}

interface Place {
  readonly path: string
  readonly door: Door | undefined
  readonly read: () => Document
  prepared: { readonly of: Document; readonly headers: readonly string[] } | undefined
}

function answer(place: Place, request: IncomingMessage, response: ServerResponse, env: DocumentsEnv): void {
  const began = performance.now()
  const id = requestIdOf(request)
  const ip = env.addressOf(request)
  response.on('finish', () =>
    env.note({
      id,
      request: { method: 'GET', url: place.path, ip },
      route: place.path,
      status: response.statusCode,
      milliseconds: performance.now() - began,
    }),
  )
  try {
    const headers = ['request-id', id]
    const standings = place.door === undefined ? [] : env.doors.enter(place.door, ip)
    if (standings.length > 0) headers.push(...Object.entries(standingHeaders(standings)).flat())
    const document = place.read()
    if (place.prepared?.of !== document) place.prepared = { of: document, headers: headersOf(document) }
    response.writeHead(200, [...place.prepared.headers, ...headers])
    response.end(document.text)
  } catch (error) {
    if (!(error instanceof Refusal)) env.onError(error, id)
    answerProblem(response, id, error instanceof Refusal ? error : FAULT)
  }
}

function headersOf({ text, headers }: Document): readonly string[] {
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  return Object.entries({ ...SECURITY_HEADERS, ...headers, ...length }).flat()
}
