/** The types of a result as those of Parquet (parquet-format, LogicalTypes). Each holds every value of its type exactly. */

import type { ResultColumn } from 'gatehouse-iql'
import type { SchemaElement } from 'hyparquet'
import { representation } from '../../types/types.ts'

export function parquetSchema(columns: readonly ResultColumn[]): SchemaElement[] {
  const root: SchemaElement = { name: 'schema', num_children: columns.length }
  const fields = columns.map(
    ({ name, type, nullable }): SchemaElement => ({
      name,
      repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED',
      ...representation(type).parquet.element,
    }),
  )
  return [root, ...fields]
}
