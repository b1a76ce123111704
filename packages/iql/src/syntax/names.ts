/** Names are case-insensitive. A similar name is never taken instead. */

export function sameName(a: string, b: string): boolean {
  return a === b || (a.length === b.length && a.toLowerCase() === b.toLowerCase())
}

/** The first item whose name occurred before. */
export function firstDuplicate<Item>(items: readonly Item[], toName: (item: Item) => string): Item | undefined {
  const seen = new Set<string>()
  return items.find((item) => {
    const key = toName(item).toLowerCase()
    if (seen.has(key)) return true
    seen.add(key)
    return false
  })
}

export type Ordinals = ReadonlyMap<string, readonly number[]>

/** The ordinals of the columns with each name, by the name in lower case. */
export function ordinalsByName(columns: readonly { readonly name: string }[]): Ordinals {
  const ordinals = new Map<string, number[]>()
  for (const [ordinal, { name }] of columns.entries()) {
    const key = name.toLowerCase()
    const found = ordinals.get(key)
    if (found === undefined) ordinals.set(key, [ordinal])
    else found.push(ordinal)
  }
  return ordinals
}
