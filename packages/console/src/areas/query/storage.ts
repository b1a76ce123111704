/** What this area keeps in the browser. A storage that is full or switched off keeps nothing, and nothing fails. */

const PREFIX = 'gatehouse.query.'

export function readStored<T>(key: string): T | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key)
    return text === null ? undefined : (JSON.parse(text) as T)
  } catch {
    return undefined
  }
}

export function writeStored(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value))
  } catch {}
}
