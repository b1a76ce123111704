/** The HTTP statuses of IQL's errors, apart from their texts: the console has the parser, and needs no texts to refuse. */

/** All others have 400. */
export const STATUSES = {
  TooLong: 413,
  DuplicateIndex: 409,
  TableExists: 409,
  BadValue: 422,
  NotWritable: 403,
  Forbidden: 403,
  SystemTable: 403,
  RowTwice: 409,
  RowFilter: 403,
} as const

export function findStatus(name: string): number {
  return new Map<string, number>(Object.entries(STATUSES)).get(name) ?? 400
}
