/** The trailer of a result: what is known only after the last row, or the error that ended it early. */
import type { ReadOutcome } from '../engines/engine.ts'
import { jsonText } from './encoders.ts'
import type { Encoding } from './encoding.ts'

export interface ResultEnd {
  readonly requestId: string
  readonly elapsedMs: number
  readonly rowsAffected?: number | undefined
  readonly nextCursor?: string | undefined
  /** A limit of the service truncated the result, not the caller's own limit. */
  readonly isTruncated: boolean
}

/** The bytes after the last row. */
export function endOfResult(encoding: Encoding, outcome: ReadOutcome, end: ResultEnd): Uint8Array {
  return encoding.format === 'arrow' ? ARROW_END : Buffer.from(endOfText(encoding, outcome, end))
}

/** The trailer of a text format; empty in formats without one. */
export function endOfText({ format }: Encoding, { rowCount }: ReadOutcome, end: ResultEnd): string {
  const { rowsAffected, isTruncated, nextCursor, requestId, elapsedMs } = end
  if (format === 'json') {
    const affected = rowsAffected === undefined ? '' : `,"RowsAffected":${rowsAffected}`
    const truncated = isTruncated ? ',"Truncated":true' : ''
    const next = nextCursor === undefined ? '' : `,"NextCursor":${JSON.stringify(nextCursor)}`
    const request = `,"RequestId":${jsonText(requestId)},"ElapsedMs":${elapsedMs}`
    return `],"RowCount":${rowCount}${affected}${truncated}${next}${request}}`
  }
  if (format !== 'ndjson' || (!isTruncated && nextCursor === undefined)) return ''
  return `${JSON.stringify({ Truncated: isTruncated, ...(nextCursor === undefined ? {} : { NextCursor: nextCursor }) })}\n`
}

/** Reports an error after rows have been sent. Undefined if the format cannot: then the connection must be closed early. */
export function errorInResult(encoding: Encoding, problem: object, requestId: string): Uint8Array | undefined {
  switch (encoding.format) {
    case 'json':
      return Buffer.from(`],"Error":${JSON.stringify(problem)},"RequestId":${JSON.stringify(requestId)}}`)
    case 'ndjson':
      return Buffer.from(`${JSON.stringify({ Error: problem })}\n`)
    default:
      return undefined
  }
}

/** The end-of-stream marker of Arrow: a continuation indicator and a length of zero. */
const ARROW_END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
