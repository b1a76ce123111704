/** Checks the files that come with the program and that set-up builds: present, and readable for the user of the server. */
import type { Config } from '../../config/config.ts'
import { CLIENT_LIBRARY, describeFault, findFaults, SET_UP_AGAIN, servedParts } from '../../server/installation.ts'
import { type Finding, fault, ok } from './finding.ts'

export async function checkInstallation(config: Config): Promise<Finding[]> {
  const faults = await findFaults([...servedParts(config), CLIENT_LIBRARY])
  if (faults.length === 0) return [ok('installation', 'The files of the program are complete and can be read')]
  return faults.map((found) => {
    const text = describeFault(found)
    return fault(
      found.kind === 'missing' ? 'installation.incomplete' : 'installation.unreadable',
      `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`,
      SET_UP_AGAIN,
    )
  })
}
