/** The changelog: its section of unreleased changes becomes that of a release. */

/** Every section is for at least one of them. */
export const AUDIENCES = ['For users', 'For operators', 'For developers']

/** The heading of a release that was written in advance gets the date. */
export function releaseChangelog(text: string, version: string, date: string): string {
  const heading = `## ${version} - ${date}`
  const prepared = new RegExp(`^## ${RegExp.escape(version)}(?: - .*)?$`, 'm')
  const hasUnreleased = /^## Unreleased$/m.test(text)
  if (prepared.test(text) && hasUnreleased)
    throw new Error(`CHANGELOG.md has a section Unreleased and one of ${version}: merge them`)
  const result = text.replace(hasUnreleased ? /^## Unreleased$/m : prepared, heading)
  const section = findSection(result, version)
  if (section === undefined) throw new Error('CHANGELOG.md has no section "## Unreleased"')
  if (!AUDIENCES.some((audience) => section.includes(`### ${audience}\n`)))
    throw new Error(
      `CHANGELOG.md: ${version} has none of the parts ${AUDIENCES.map((part) => `"### ${part}"`).join(', ')}`,
    )
  return result
}

/** Without its heading; undefined if there is none. */
export function findSection(text: string, version: string): string | undefined {
  const sections = text.split(/^(?=## )/m)
  const section = sections.find((candidate) => candidate.startsWith(`## ${version} - `))
  return section?.slice(section.indexOf('\n') + 1)
}
