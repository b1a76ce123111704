/** The rows of statements on the catalogue as messages. */
import { STEPS_PER_PAUSE, type Steps } from '../../../lib/turns.ts'
import type { CatalogueColumn, CatalogueResult } from '../../catalogue/contract.ts'
import type { Format } from '../../protocol/messages.ts'
import { dataRow, rowDescription } from '../../protocol/replies.ts'
import { binaryOf } from '../../types/catalogue-values.ts'
import { sizeOfType } from '../../types/oids.ts'

export function catalogueDescription(columns: readonly CatalogueColumn[], formats: readonly Format[]): Buffer {
  return rowDescription(
    columns.map(({ name, type, modifier }, index) => {
      const format = (formats.length === 1 ? formats[0] : formats[index]) ?? 0
      return { name, type, modifier, size: sizeOfType(type), format }
    }),
  )
}

export function* catalogueRows(
  rows: CatalogueResult['rows'],
  columns: readonly CatalogueColumn[],
  formats: readonly Format[],
): Steps<Uint8Array> {
  const encoded: Uint8Array[] = []
  for (const [at, row] of rows.entries()) {
    encoded.push(dataRow(row.map((text, index) => catalogueCell(text, columns[index], formats, index))))
    if (at % STEPS_PER_PAUSE === STEPS_PER_PAUSE - 1) yield
  }
  return Buffer.concat(encoded)
}

function catalogueCell(
  text: string | null,
  column: CatalogueColumn | undefined,
  formats: readonly Format[],
  index: number,
): Uint8Array | string | null {
  const isBinary = (formats.length === 1 ? formats[0] : formats[index]) === 1
  return text === null || !isBinary || column === undefined ? text : binaryOf(text, column.type)
}
