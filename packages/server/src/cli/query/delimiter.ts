/** The delimiter of a CSV file. */
import { DELIMITER_SAMPLE, delimiterOf } from 'gatehouse-csv'
import { readCsvRecords } from '../../declarative/csv-file.ts'

export async function detectDelimiter(file: string): Promise<string> {
  const records: string[] = []
  for await (const { raw } of readCsvRecords(file)) if (records.push(raw) === DELIMITER_SAMPLE) break
  return delimiterOf(records)
}
