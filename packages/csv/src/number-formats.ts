/** Numbers as spreadsheets write them, with a decimal comma or with groups of three digits: detected, and converted. */
import { type IqlType, readValue } from 'gatehouse-iql'
import { formatsOfMost, type ValueFormat } from './value-format.ts'

const FORMATS: readonly ValueFormat[] = [
  numberFormat('1.234,56', '[.\\u00a0\\u202f]', ','),
  numberFormat('1,234.56', "[,'’]", '.'),
]

export const NUMBER_FORMATS: readonly string[] = FORMATS.map(({ name }) => name)

export function findNumberFormat(name: string): ValueFormat | undefined {
  return FORMATS.find((format) => format.name === name)
}

/** The formats that every value has: none, one, or two where 1,234 may be more or less than a thousand. */
export function detectNumberFormats(values: readonly string[]): readonly ValueFormat[] {
  return values.length === 0 ? [] : FORMATS.filter(({ convert }) => values.every((text) => convert(text) !== undefined))
}

export function numberFormatsOfMost(values: readonly string[]): readonly ValueFormat[] {
  return formatsOfMost(FORMATS, values)
}

/** How a file writes numbers, if its columns agree: with 101,25 in one column, 1.200 in another is twelve hundred. */
export function usualNumberFormat(columns: readonly (readonly string[])[]): ValueFormat | undefined {
  const found = new Set<ValueFormat>()
  for (const values of columns) {
    const [format, other] = numberFormatsOfMost(values)
    if (format !== undefined && other === undefined) found.add(format)
  }
  return found.size === 1 ? [...found][0] : undefined
}

/** Whether all values have the format, and it makes a difference. */
export function isWrittenAs({ convert }: ValueFormat, values: readonly string[]): boolean {
  return values.every((text) => convert(text) !== undefined) && values.some((text) => convert(text) !== text)
}

/** The formats in which most values can be read as the type, if they cannot be read as they are. */
export function numberFormatsFor(
  type: IqlType,
  values: readonly string[],
  usual: ValueFormat | undefined,
): readonly ValueFormat[] {
  const canRead = (text: string | undefined): boolean => text !== undefined && 'value' in readValue(type, text)
  const readBy = ({ convert }: ValueFormat): readonly string[] => values.filter((text) => canRead(convert(text)))
  const plain = values.filter(canRead).length
  if (usual !== undefined && readBy(usual).length >= plain && isWrittenAs(usual, readBy(usual))) return [usual]
  const best = formatsOfMost(FORMATS, values, ({ convert }, text) => canRead(convert(text)))
  return best.filter((format) => readBy(format).length > plain)
}

/** Leading zeros are those of a code, not of a number. */
function numberFormat(name: string, groups: string, point: string): ValueFormat {
  const form = new RegExp(`^(-?(?:0|[1-9]\\d*|[1-9]\\d{0,2}(?:${groups}\\d{3})+))(?:\\${point}(\\d+))?$`)
  return {
    name,
    convert(text) {
      const [, whole, fraction] = form.exec(text) ?? []
      if (whole === undefined) return undefined
      const digits = whole.replaceAll(/[^-\d]/g, '')
      return fraction === undefined ? digits : `${digits}.${fraction}`
    },
  }
}
