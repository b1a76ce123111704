/** The few rows that a write returns, or those of EXPLAIN and SHOW, as messages. */
import { STEPS_PER_PAUSE, type Steps } from '../../../lib/turns.ts'
import { CHUNK_BYTES, TextBytes, wireRowWriter } from '../../../query/codecs.ts'
import { type Encoding, type QueryResult, wireForm } from '../../../query/index.ts'

export function* encodeRows(
  { encoders, rows }: Extract<QueryResult, { kind: 'rows' }>,
  encoding: Encoding,
): Steps<Uint8Array> {
  const write = wireRowWriter(wireForm(encoding), encoders.columns)
  const out = new TextBytes()
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    write(out, row)
    if (out.length >= CHUNK_BYTES) chunks.push(out.take())
    if (index % STEPS_PER_PAUSE === STEPS_PER_PAUSE - 1) yield
  }
  chunks.push(out.take())
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}
