/** How a file writes the values of a column, where IQL would write them differently. */
export interface ValueFormat {
  readonly name: string
  /** As IQL writes it; undefined where the text does not have this format. */
  convert(text: string): string | undefined
}

/** The formats that fit most of the values; among these, the ones that fit the most. */
export function formatsOfMost(
  formats: readonly ValueFormat[],
  values: readonly string[],
  isFit = ({ convert }: ValueFormat, value: string): boolean => convert(value) !== undefined,
): readonly ValueFormat[] {
  const counts = formats.map((format) => values.filter((value) => isFit(format, value)).length)
  const most = Math.max(...counts)
  return most * 2 > values.length ? formats.filter((_, index) => counts[index] === most) : []
}
