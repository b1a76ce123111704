/** The end of a result: what is known only after its last row, or the error that cut it short. */
import type { ReadOutcome } from '../engines/engine.ts'
import type { Encoding } from './encoding.ts'

export interface ResultEnd {
  readonly requestId: string
  readonly elapsedMs: number
  readonly rowsAffected?: number | undefined
  readonly nextCursor?: string | undefined
  /** The service's own limit cut the result, not the caller's. */
  readonly isTruncated: boolean
}

/** The bytes after the rows. Formats without a place for it end as they are. */
export function endOfResult(encoding: Encoding, outcome: ReadOutcome, end: ResultEnd): Uint8Array {
  switch (encoding.format) {
    case 'json': {
      const members = {
        RowCount: outcome.rowCount,
        ...(end.rowsAffected === undefined ? {} : { RowsAffected: end.rowsAffected }),
        ...(end.isTruncated ? { Truncated: true } : {}),
        ...(end.nextCursor === undefined ? {} : { NextCursor: end.nextCursor }),
        RequestId: end.requestId,
        ElapsedMs: end.elapsedMs,
      }
      return Buffer.from(`],${JSON.stringify(members).slice(1)}`)
    }
    case 'ndjson': {
      if (!end.isTruncated && end.nextCursor === undefined) return NOTHING
      const line = {
        Truncated: end.isTruncated,
        ...(end.nextCursor === undefined ? {} : { NextCursor: end.nextCursor }),
      }
      return Buffer.from(`${JSON.stringify(line)}\n`)
    }
    case 'csv':
      return NOTHING
    case 'arrow':
      return ARROW_END
  }
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

const NOTHING = Buffer.alloc(0)

/** The bytes that end an Arrow stream: a continuation mark and a length of zero. */
const ARROW_END = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
