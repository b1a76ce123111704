/** What commands say of licences of market data: which rows are delayed, and which are left out. */
import type { LicenceLabel } from '../../../../client/src/index.ts'
import { printable } from '../output/table.ts'

/** One remark for each; none where all rows are there, as they are now. */
export function licenceNotes(labels: readonly LicenceLabel[]): string[] {
  return labels.map(({ product, table, access, delay, asOf, column, values }) => {
    const part = column === undefined ? table : `${table} where ${column} is ${[values].flat().join(', ')}`
    const state =
      access === 'none' ? 'is left out' : `is delayed by ${delay} s${asOf === undefined ? '' : `, as of ${asOf}`}`
    return printable(`${part} ${state}${product === undefined ? '' : ` (${product})`}`)
  })
}

/** Of a format whose rows do not say it: the header `Licence`, as it is. */
export function noteLicenceHeader({ headers }: Response): void {
  const licence = headers.get('licence')
  if (licence !== null) process.stderr.write(`Licence: ${printable(licence)}\n`)
}
