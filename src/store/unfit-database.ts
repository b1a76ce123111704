/** The operator has to choose or configure another database. */
export class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase'
}
