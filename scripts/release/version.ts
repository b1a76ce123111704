/** Versions of releases: MAJOR.MINOR.PATCH, or a candidate for one, such as 1.1.0-rc.2 (Semantic Versioning 2.0.0). */

export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
  /** The number of a release candidate. */
  readonly candidate: number | undefined
}

/** For other patterns. */
export const VERSION_PATTERN = String.raw`\d+\.\d+\.\d+(?:-rc\.\d+)?`

export function parseVersion(text: string): Version {
  if (!new RegExp(`^${VERSION_PATTERN}$`).test(text))
    throw new Error(`${text} is not a version; versions are written as 1.1.0, candidates as 1.1.0-rc.1`)
  const [major = 0, minor = 0, patch = 0, candidate] = text.split(/\.|-rc\./).map(Number)
  return { major, minor, patch, candidate }
}

/** Below 0 if the first is older. A candidate is older than its release. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => {
    const { major, minor, patch, candidate } = parseVersion(text)
    return [major, minor, patch, candidate ?? Number.MAX_SAFE_INTEGER]
  })
  const index = left?.findIndex((part, place) => part !== right?.[place]) ?? -1
  return index < 0 ? 0 : (left?.[index] ?? 0) - (right?.[index] ?? 0)
}
