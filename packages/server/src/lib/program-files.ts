/** Where the files of the program are: next to it in an installed package, or elsewhere in a clone. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PACKAGE = new URL('../../', import.meta.url)
const REPOSITORY = new URL('../../', PACKAGE)

/** Only a clone can be built. */
export const IS_CLONE = existsSync(new URL('build.js', PACKAGE))

export const PACKAGE_MANIFEST = new URL('package.json', PACKAGE)
/** Of a package; a clone has none. */
export const BILL_OF_MATERIALS = new URL('sbom.cdx.json', PACKAGE)
/** The folder with docs/ and CHANGELOG.md. */
export const DOCUMENTATION_ROOT = IS_CLONE ? REPOSITORY : PACKAGE
/** IANA's database; the first line is its version. */
export const TIME_ZONES = fileOrFolder('packages/server/src/query/zones/zones.txt', 'zones.txt')
/** With fonts/, scripts/ and styles/, which pages load. */
export const PAGE_FILES = fileOrFolder('packages/server/src/identity/pages/', 'pages/')
export const CONSOLE_FOLDER = fileURLToPath(fileOrFolder('packages/console/dist', 'console'))
export const CLIENT_FOLDER = fileURLToPath(fileOrFolder('packages/client/dist', 'client'))
/** What starts the program in a clone. */
export const CLONE_PROGRAM = fileURLToPath(new URL('gatehouse', REPOSITORY))

function fileOrFolder(inClone: string, inPackage: string): URL {
  return IS_CLONE ? new URL(inClone, REPOSITORY) : new URL(inPackage, PACKAGE)
}
