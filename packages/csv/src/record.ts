/** Records of CSV (RFC 4180). An empty field is NULL, a quoted empty field is empty text. */

export type CsvRow = readonly (string | null)[]

export function parseCsvRecord(
  raw: string,
  delimiter = ',',
): { readonly fields: CsvRow } | { readonly problem: string } {
  const fields: (string | null)[] = []
  for (let at = 0; ; at++) {
    if (raw[at] === '"') {
      const closing = closingQuote(raw, at)
      if (closing === -1) return { problem: 'a quoted field does not end' }
      if (closing + 1 < raw.length && raw[closing + 1] !== delimiter) return { problem: 'text after a closing quote' }
      fields.push(raw.slice(at + 1, closing).replaceAll('""', '"'))
      at = closing + 1
    } else {
      const end = raw.indexOf(delimiter, at)
      const field = raw.slice(at, end === -1 ? undefined : end)
      if (field.includes('"')) return { problem: 'a quote inside a field that does not begin with one' }
      fields.push(field === '' ? null : field)
      at = end === -1 ? raw.length : end
    }
    if (at >= raw.length) return { fields }
  }
}

/** The position of the quote that ends the field; -1 if none does. */
export function closingQuote(raw: string, open: number): number {
  for (let at = raw.indexOf('"', open + 1); at !== -1; at = raw.indexOf('"', at + 2)) {
    if (raw[at + 1] !== '"') return at
  }
  return -1
}

export function csvField(text: string, delimiter = ','): string {
  return text.includes(delimiter) || /["\r\n]|^\s|\s$|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
