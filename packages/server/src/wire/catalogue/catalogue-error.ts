/** The errors of catalogue statements, with their SQLSTATE. */

export const SQLSTATES = {
  syntax: '42601',
  unknownTable: '42P01',
  unknownColumn: '42703',
  ambiguousColumn: '42702',
  unknownFunction: '42883',
  unknownObject: '42704',
  badValue: '22P02',
  divisionByZero: '22012',
  outOfRange: '22003',
  unsupported: '0A000',
  tooComplex: '54001',
  tooLarge: '54000',
  outOfMemory: '53200',
  cancelled: '57014',
  unavailable: '57P03',
  busy: '53300',
} as const

export type CatalogueFault = keyof typeof SQLSTATES

export class CatalogueError extends Error {
  readonly fault: CatalogueFault
  /** In UTF-16 units from the start of the statement, or undefined. */
  readonly at: number | undefined
  readonly hint: string | undefined

  constructor(fault: CatalogueFault, message: string, at?: number, hint?: string) {
    super(message)
    this.fault = fault
    this.at = at
    this.hint = hint
  }

  get sqlstate(): string {
    return SQLSTATES[this.fault]
  }
}
