/** The end of a result: what is known only after its last row, or the error that cut it short. */
import type { ReadOutcome } from '../engines/engine.ts'
import type { Encoding } from './encoding.ts'
import { jsonText } from './json.ts'

export interface ResultEnd {
  readonly requestId: string
  readonly elapsedMs: number
  readonly rowsAffected?: number | undefined
  readonly nextCursor?: string | undefined
  /** The service's own limit cut the result, not the caller's. */
  readonly isTruncated: boolean
}

/** The bytes after the rows. */
export function endOfResult(encoding: Encoding, outcome: ReadOutcome, end: ResultEnd): Uint8Array {
  return encoding.format === 'arrow' ? ARROW_END : Buffer.from(endOfText(encoding, outcome, end))
}

/** The same of a format that is text. Formats without a place for it end as they are. */
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

/** An error after rows have gone out: JSON and NDJSON can say it; undefined means that the connection must be cut. */
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

/** The bytes that end an Arrow stream: a continuation mark and a length of zero. */
const ARROW_END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
