// The software bill of materials of the package gatehouse-server (CycloneDX 1.6, ECMA-424): what it installs, and what is part of its files.
import { neededBy, readLock } from './lock.js'

/** Packages that its files contain: those of the console, and this one of the server's bundle. */
const BUNDLED = ['node_modules/kysely']

/** The same for the same lock file. */
export function billOfMaterials(root) {
  const { packages } = readLock(root)
  const { name, version, license } = packages['packages/server']
  const installed = [...neededBy('packages/server', packages)]
  const bundled = [...neededBy('packages/console', packages), ...BUNDLED.map((path) => [path, packages[path]])]
  const components = new Map()
  for (const [path, entry] of [...installed, ...bundled]) {
    if (entry.link || path.startsWith('packages/')) continue
    const component = createComponent(path, entry, bundled.some(([other]) => other === path) ? 'bundled' : 'installed')
    components.set(component['bom-ref'], component)
  }
  const own = createComponent(`node_modules/${name}`, { version, license }, undefined)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...own, type: 'application' } },
    components: [...components.values()].sort((left, right) => (left['bom-ref'] < right['bom-ref'] ? -1 : 1)),
    dependencies: [{ ref: own['bom-ref'], dependsOn: [...components.keys()].sort() }],
  }
}

function createComponent(path, { version, license, integrity, optional }, how) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const hash = integrity?.match(/^sha512-(.+)$/)?.[1]
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(how === undefined ? {} : { scope: optional ? 'optional' : 'required' }),
    ...(license === undefined ? {} : { licenses: [toLicense(license)] }),
    ...(hash === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }),
    ...(how === undefined ? {} : { properties: [{ name: 'gatehouse:part', value: how }] }),
  }
}

/** An identifier of SPDX, or an expression of several. */
function toLicense(license) {
  return /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }
}
