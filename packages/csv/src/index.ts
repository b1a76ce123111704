/** Files of separated values: their delimiter, the types of their columns, their rows. The one entry of this package. */
export { type Guess, guessType, parseType } from './column-types.ts'
export { DATE_FORMATS, dateFormatsOfMost, findDateFormat } from './date-formats.ts'
export { DELIMITER_SAMPLE, delimiterName, delimiterOf, readDelimiter } from './delimiter.ts'
export { findNumberFormat, NUMBER_FORMATS, numberFormatsFor, usualNumberFormat } from './number-formats.ts'
export { type CsvRow, parseCsvRecord } from './record.ts'
export { hasNotes, rejectedHeader, rejectedLine, withoutNotes } from './rejected.ts'
export { fieldsOf, rowFields, rowJson, type TargetColumn } from './row.ts'
export type { ValueFormat } from './value-format.ts'
