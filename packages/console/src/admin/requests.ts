/** Requests to the administration. */
import { gate } from '../gate.ts'

export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await gate.request(path, { signal })
  return (await response.json()) as T
}

/** A path with the parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}
