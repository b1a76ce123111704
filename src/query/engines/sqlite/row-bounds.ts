/** Bounds in SQL for rows that are read all at once: nothing can stop such a read at a value that is large. */
import type { IqlType } from '../../iql/types.ts'
import type { ResultColumn } from '../../result/encoding.ts'

export const MOST_COLUMNS = 32
const ROW_BYTES = 8 * 1024

/** The columns c0, c1, … with 0 in place of every text or bytes that are too long. */
export function boundedOutputs(
  columns: readonly ResultColumn[],
  prefix = 'c',
  long = longOf(columns).length,
): string[] {
  const most = Math.floor(ROW_BYTES / long)
  return columns.map(({ type }, index) => {
    const name = `${prefix}${index}`
    return mayBeLong(type) ? `iif(octet_length(${name}) > ${most}, 0, ${name})` : name
  })
}

/** Where values stand that may be long. */
export function longOf(columns: readonly ResultColumn[]): number[] {
  return columns.flatMap(({ type }, index) => (mayBeLong(type) ? [index] : []))
}

function mayBeLong({ kind }: IqlType): boolean {
  return kind === 'Text' || kind === 'Json' || kind === 'Binary'
}
