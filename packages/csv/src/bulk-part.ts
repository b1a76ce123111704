/** A part of a file, inserted in one request: duplicates by the policy, and the rows that the table refuses found by halving. */

/** What happens to a row whose key is taken: it is reported as rejected, left out, or replaces the other row. */
export type Duplicates = 'reject' | 'skip' | 'replace'

export interface PendingRow {
  readonly line: number
  readonly raw: string
  /** The record that is sent. */
  readonly csv: string
}

export interface RefusedRow {
  readonly line: number
  readonly raw: string
  readonly reason: string
}

export interface PartOutcome {
  readonly inserted: number
  readonly replaced: number
  readonly skipped: number
  readonly refused: readonly RefusedRow[]
}

/** Sends a body to `Insert` with the policy of the request and a key of its own; returns the reply, or why the rows were refused. */
export type SendPart = (
  body: string,
  duplicates: 'skip' | 'replace',
  key: string,
) => Promise<{ readonly reply: unknown } | { readonly refused: string }>

/** The header names the columns of the records. */
export async function insertPart(
  send: SendPart,
  header: string,
  rows: readonly PendingRow[],
  duplicates: Duplicates,
  key: string,
): Promise<PartOutcome> {
  if (rows.length === 0) return NOTHING
  const body = `${header}\n${rows.map(({ csv }) => csv).join('\n')}\n`
  const sent = await send(body, duplicates === 'replace' ? 'replace' : 'skip', key)
  if ('reply' in sent) return readOutcome(sent.reply, rows, duplicates)
  const [only] = rows
  if (only !== undefined && rows.length === 1)
    return { ...NOTHING, refused: [{ line: only.line, raw: only.raw, reason: sent.refused }] }
  // Nothing was inserted: one of the rows is to blame.
  const middle = rows.length >> 1
  const first = await insertPart(send, header, rows.slice(0, middle), duplicates, `${key}a`)
  const second = await insertPart(send, header, rows.slice(middle), duplicates, `${key}b`)
  return {
    inserted: first.inserted + second.inserted,
    replaced: first.replaced + second.replaced,
    skipped: first.skipped + second.skipped,
    refused: [...first.refused, ...second.refused],
  }
}

const NOTHING: PartOutcome = { inserted: 0, replaced: 0, skipped: 0, refused: [] }

function readOutcome(reply: unknown, rows: readonly PendingRow[], duplicates: Duplicates): PartOutcome {
  const members: Readonly<Record<string, unknown>> = typeof reply === 'object' && reply !== null ? { ...reply } : {}
  const [affected, replaced, skipped] = [members.RowsAffected, members.Replaced, members.Skipped].map((value) =>
    Number(value ?? 0),
  )
  const counts = { inserted: (affected ?? 0) - (replaced ?? 0), replaced: replaced ?? 0 }
  if (duplicates !== 'reject') return { ...counts, skipped: skipped ?? 0, refused: [] }
  const listed = Array.isArray(members.SkippedRows) ? members.SkippedRows : []
  const refused = listed.flatMap((number) => {
    const row = rows[Number(number) - 1]
    return row === undefined
      ? []
      : [{ line: row.line, raw: row.raw, reason: 'Data.UniqueViolation: A row with this key already exists' }]
  })
  // Without a primary key the server counts them only.
  return { ...counts, skipped: (skipped ?? 0) - refused.length, refused }
}
