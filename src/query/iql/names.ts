/** Names match without case, and are never replaced by similar ones. */

export function sameName(a: string, b: string): boolean {
  return a === b || (a.length === b.length && a.toLowerCase() === b.toLowerCase())
}

/** The first name that stands twice. */
export function firstDuplicate<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item | undefined {
  const seen = new Set<string>()
  return items.find((item) => {
    const key = nameOf(item).toLowerCase()
    if (seen.has(key)) return true
    seen.add(key)
    return false
  })
}

/** Where the columns of each name stand, by the name in lower case; made once for each list of columns. */
export function ordinalsOf(columns: readonly { readonly name: string }[]): ReadonlyMap<string, readonly number[]> {
  const known = ORDINALS.get(columns)
  if (known !== undefined) return known
  const ordinals = new Map<string, number[]>()
  for (const [ordinal, { name }] of columns.entries()) {
    const key = name.toLowerCase()
    const found = ordinals.get(key)
    if (found === undefined) ordinals.set(key, [ordinal])
    else found.push(ordinal)
  }
  ORDINALS.set(columns, ordinals)
  return ordinals
}

const ORDINALS = new WeakMap<readonly { readonly name: string }[], ReadonlyMap<string, readonly number[]>>()
