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
