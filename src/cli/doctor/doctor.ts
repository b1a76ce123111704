/** Looks at everything that keeps a server from running well, and finds out how to mend it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { openDataFolder } from '../../store/data-folder.ts'
import { SEALED_KEY } from '../../store/key-rotation.ts'
import { MASTER_KEY_FILE, openMasterKey } from '../../store/master-key.ts'
import { unseal } from '../../store/opaque.ts'
import { examineCertificate } from './certificate.ts'
import { examineContent } from './content.ts'
import { examineDatabase } from './database.ts'
import type { Finding } from './finding.ts'
import { examineFolder } from './folder.ts'
import { examineSettings } from './settings.ts'

export async function examine(config: Config, now: () => number = Date.now): Promise<Finding[]> {
  const folder = examineFolder(config.data)
  const { findings, database } = await examineDatabase(config, now)
  try {
    const content =
      database === undefined || folder.some(({ level }) => level === 'fault')
        ? []
        : await examineContent(database, { config, now: now(), open: opener(config) })
    return [...examineSettings(config), ...folder, ...examineCertificate(config, now()), ...findings, ...content]
  } finally {
    await database?.close()
  }
}

/** Never makes what is missing: a fresh master key would hide that the old one is lost. */
function opener(config: Config): ((sealed: string) => void) | undefined {
  if (config.masterKey === undefined && !existsSync(join(config.data, MASTER_KEY_FILE))) return undefined
  const key = openMasterKey(openDataFolder(config.data), config.masterKey).derive('signing keys')
  return (sealed) => void unseal(sealed, key, SEALED_KEY)
}
