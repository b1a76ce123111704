/** The types of a result as those of Parquet (parquet-format, LogicalTypes). Each holds every value of its type exactly. */

import type { DecimalType, IqlType, ResultColumn } from 'gatehouse-iql'
import type { SchemaElement } from 'hyparquet'

export function schemaOf(columns: readonly ResultColumn[]): SchemaElement[] {
  const root: SchemaElement = { name: 'schema', num_children: columns.length }
  const fields = columns.map(
    ({ name, type, nullable }): SchemaElement => ({
      name,
      repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED',
      ...parquetType(type),
    }),
  )
  return [root, ...fields]
}

/** Whether an INT64 holds every value. */
export function isShortDecimal({ precision }: DecimalType): boolean {
  return precision <= 18
}

/** Annotations from before there were logical types are added where they mean the same, for old readers. */
function parquetType(type: IqlType): Omit<SchemaElement, 'name'> {
  switch (type.kind) {
    case 'Integer':
      return { type: 'INT64' }
    case 'Double':
      return { type: 'DOUBLE' }
    case 'Boolean':
      return { type: 'BOOLEAN' }
    case 'Decimal': {
      const { precision, scale } = type
      const physical = isShortDecimal(type)
        ? ({ type: 'INT64' } as const)
        : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const)
      return {
        ...physical,
        converted_type: 'DECIMAL',
        scale,
        precision,
        logical_type: { type: 'DECIMAL', precision, scale },
      }
    }
    case 'Timestamp':
      return {
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      }
    case 'LocalTimestamp':
      return { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MICROS' } }
    case 'Date':
      return { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } }
    case 'Time':
      return { type: 'INT64', logical_type: { type: 'TIME', isAdjustedToUTC: false, unit: 'MICROS' } }
    case 'Uuid':
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } }
    case 'Json':
      return { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } }
    case 'Binary':
      return { type: 'BYTE_ARRAY' }
    default:
      // Also an Interval: Parquet's own has milliseconds only.
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
  }
}
