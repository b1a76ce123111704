/** Reads the messages of a request to publish: one, a JSON array, NDJSON or a CloudEvents event. Data is taken as it is written. */
import type { Context } from '../../http/context.ts'
import { parseJson } from '../../lib/exact-json.ts'
import { isDeeperThan } from '../../lib/json-depth.ts'
import { itemTexts, memberText } from '../../lib/json-members.ts'
import { STEPS_PER_PAUSE, type Steps } from '../../lib/turns.ts'
import type { NewMessage } from '../engine.ts'
import { MAX_DEPTH } from '../feed.ts'
import { refuse } from '../refusals.ts'
import { MAX_MESSAGES } from '../service.ts'

/** No feed takes longer messages. To parse one takes some milliseconds. */
const MAX_LENGTH = 2 * 1024 * 1024

/** CloudEvents 1.0, JSON format, in structured mode. */
export const CLOUD_EVENT = 'application/cloudevents+json'
export const NDJSON = 'application/x-ndjson'
export const JSON_BODY = 'application/json'

export interface MessagesToPublish {
  readonly messages: readonly NewMessage[]
  /** Of a CloudEvents event: the same id of the same source is the same event. */
  readonly eventKey?: string
}

/** The body of `POST /feeds/{feed}/{topic}`: any JSON value. */
export function readData({ body }: Pick<Context, 'body'>, topic: string): MessagesToPublish {
  return { messages: [{ topic, data: checkedData(decodeBody(body), 'The body') }] }
}

/** The body of `POST /feeds/{feed}`. */
export function readMessages(context: Pick<Context, 'body'>, type: string): Steps<MessagesToPublish> {
  const text = decodeBody(context.body)
  if (type === CLOUD_EVENT) return readEvent(text)
  return type === NDJSON ? readLines(text) : readArray(text)
}

function* readArray(text: string): Steps<MessagesToPublish> {
  if (!/^\s*\[/.test(text))
    throw refuse(
      'feed.bad_message',
      'The body is an array of {"Topic", "Data"}; the topic of one message is in the URL',
    )
  try {
    return { messages: yield* readAll(itemTexts(text), 'Message') }
  } catch (error) {
    throw error instanceof SyntaxError ? refuse('feed.bad_message', `The body is not JSON: ${error.message}`) : error
  }
}

function* readLines(text: string): Steps<MessagesToPublish> {
  return { messages: yield* readAll(splitLines(text), 'Line') }
}

function* splitLines(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end < 0 ? text.length : end).trim()
    yield line
    start = end < 0 ? text.length : end + 1
  }
}

/** A message of this length takes as long as hundreds of short ones. */
const LONG_TEXT = 64 * 1024

function* readAll(texts: Iterable<string>, what: string): Steps<readonly NewMessage[]> {
  const messages: NewMessage[] = []
  let number = 0
  for (const text of texts) {
    number++
    if (text === '') continue
    if (messages.length >= MAX_MESSAGES)
      throw refuse('feed.bad_message', `A request has at most ${MAX_MESSAGES} messages: send the rest in another one`)
    messages.push(readOne(text, `${what} ${number}`))
    if (number % STEPS_PER_PAUSE === 0 || text.length > LONG_TEXT) yield
  }
  if (messages.length === 0) throw refuse('feed.bad_message', 'The body has no messages')
  return messages
}

/** Most programs write messages this way; then the value of Data is the rest of the text. */
const USUAL = /^\{"Topic": ?"([^"\\\0-\x1f]+)", ?"Data": ?/

function readOne(text: string, where: string): NewMessage {
  if (text.length > MAX_LENGTH) throw refuse('feed.message_too_large', `${where} is longer than a message can be`)
  const usual = USUAL.exec(text)
  if (usual !== null) {
    const data = text.slice(usual[0].length, -1).trim()
    if (text.endsWith('}') && !isDeeperThan(data, MAX_DEPTH) && isJson(data)) return { topic: usual[1] ?? '', data }
  }
  checkedData(text, where)
  const { Topic: topic, Data: data } = requireObject(parseJson(text), where)
  if (typeof topic !== 'string') throw refuse('feed.bad_message', `${where} has no "Topic", which is a text`)
  if (data === undefined) throw refuse('feed.bad_message', `${where} has no "Data"; null is a value`)
  return { topic, data: memberText(text, 'Data') }
}

// biome-ignore lint/correctness/useYield: one event is short.
function* readEvent(text: string): Steps<MessagesToPublish> {
  if (text.length > MAX_LENGTH) throw refuse('feed.message_too_large', 'The event is longer than a message can be')
  checkedData(text, 'The event')
  const event = requireObject(parseJson(text), 'The event')
  const { specversion, id, source, type, subject, data, data_base64: base64 } = event
  if (specversion !== '1.0') throw refuse('feed.bad_message', 'The event has no "specversion" of "1.0"')
  for (const [name, value] of Object.entries({ id, source, type }))
    if (typeof value !== 'string' || value === '')
      throw refuse('feed.bad_message', `The event has no "${name}", a text`)
  if (typeof subject !== 'string') throw refuse('feed.bad_message', 'The event has no "subject": it is the topic')
  if (base64 !== undefined) throw refuse('feed.bad_message', 'The data of the event is binary; a message is JSON')
  const message = { topic: subject, data: data === undefined ? 'null' : memberText(text, 'data') }
  return { messages: [message], eventKey: JSON.stringify([source, id]) }
}

function decodeBody(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw refuse('feed.bad_message', 'The body is not UTF-8')
  }
}

/** Throws unless it is JSON that can be passed on. */
function checkedData(text: string, what: string): string {
  if (isDeeperThan(text, MAX_DEPTH)) throw refuse('feed.bad_message', `${what} nests deeper than ${MAX_DEPTH} levels`)
  try {
    JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : ''
    throw refuse('feed.bad_message', `${what} is not JSON: ${reason.slice(0, 200)}`)
  }
  return text.trim()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function requireObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refuse('feed.bad_message', `${what} is not an object`)
  return { ...value }
}
