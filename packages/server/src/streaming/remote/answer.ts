/** Reads what a remote controller has replied: the Data of the reply to the client, or the reason why there is none. */
import { JsonText } from 'gatehouse-protocol'
import { parseJson } from '../../lib/exact-json.ts'
import { refuse } from '../topics/controller.ts'
import type { HttpReply } from './http-reply.ts'

/** In an error message of a stream. */
const LONGEST_DETAIL = 1_000

/** Throws the Refusal that the client gets for a problem document, and any other error for a reply that is not understood. */
export function readAnswer({ status, type, body }: HttpReply): JsonText {
  if (status === 200) {
    if (!isJson(type))
      throw new Error(`the reply 200 has the type ${type === '' ? '(none)' : type}, not application/json`)
    return new JsonText(jsonText(body).text)
  }
  if (status >= 400 && status < 500 && type === 'application/problem+json')
    throw refuse('Data', readDetail(jsonText(body).value))
  if (status >= 300 && status < 400) throw new Error(`the reply ${status} is a redirect, which is not followed`)
  throw new Error(`the reply has the status ${status}${type === '' ? '' : ` and the type ${type}`}`)
}

function isJson(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The text is passed on as it is, so that numbers keep their digits; it is parsed to be sure that it is JSON. */
function jsonText(body: Buffer): { readonly text: string; readonly value: unknown } {
  try {
    const text = utf8.decode(body)
    return { text, value: parseJson(text) }
  } catch (error) {
    throw new Error('the body of the reply is not JSON in UTF-8', { cause: error })
  }
}

/** RFC 9457 §3.1: `detail` is about this occurrence, `title` about the kind of problem. */
function readDetail(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null) throw new Error('the problem document is no object')
  const { detail, title }: { detail?: unknown; title?: unknown } = problem
  const text = typeof detail === 'string' ? detail : typeof title === 'string' ? title : ''
  return text.slice(0, LONGEST_DETAIL)
}
