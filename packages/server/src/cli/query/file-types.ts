/** The columns of a new table for the rows of an Arrow or Parquet file: the file has their types. */
import { type FileHandle, open } from 'node:fs/promises'
import type { TargetColumn } from 'gatehouse-csv'
import { parseType } from 'gatehouse-csv'
import { sameName } from 'gatehouse-iql'
import { CommandError, UsageError } from '../errors.ts'
import type { FileFormat } from './import-format.ts'

/** `asked`: the types of --type. */
export async function columnsOfFile(
  file: string,
  format: FileFormat,
  asked: readonly (readonly [string, string])[],
): Promise<TargetColumn[]> {
  const columns = await readColumns(file, format)
  const unknown = asked.find(([name]) => !columns.some((column) => sameName(column.name, name)))
  if (unknown !== undefined) throw new UsageError(`--type names ${unknown[0]}, which is not a column of the file`)
  return columns.map(({ name, type }) => {
    const text = asked.find(([other]) => sameName(other, name))?.[1]
    const given = text === undefined ? undefined : parseType(text)
    if (text !== undefined && given === undefined) throw new UsageError(`--type ${name}=${text}: there is no such type`)
    return { name, type: given ?? type, isRequired: false, hasDefault: false }
  })
}

async function readColumns(file: string, { name }: FileFormat) {
  // Loaded here: imports of CSV do not need the readers of these formats.
  const { readArrowSchema, readParquetSchema } = await import('../../query/file-schema.ts')
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const read = name === 'Parquet' ? readParquetSchema : readArrowSchema
    return await read({ length: size, read: (start, end) => readPart(handle, start, end) })
  } catch (error) {
    // What the readers say is meant for the user: a damaged file, a column that is nested.
    throw new CommandError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await handle.close()
  }
}

async function readPart(handle: FileHandle, start: number, end: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(end - start)
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start)
  return bytes.subarray(0, bytesRead)
}
