// What a package of this repository needs, as the lock file pins it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export function readLock(root) {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
}

/** The entries of the lock file by their paths. `place` is the folder of the package in the repository, such as `packages/server`. */
export function neededBy(place, packages) {
  const found = new Map()
  const waiting = [place]
  for (const path of waiting)
    for (const dependency of listDependencies(packages[path])) {
      const target = findTarget(dependency, path, packages)
      if (target === undefined || found.has(target)) continue
      found.set(target, packages[target])
      waiting.push(target)
    }
  return found
}

/** Also the optional ones, of every platform. */
function listDependencies({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta[name]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** As Node resolves it: in the nearest node_modules. Undefined for an optional one that the lock file does not have. */
function findTarget(name, from, packages) {
  for (let folder = from; ; ) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === '') return undefined
    folder = folder.includes('/node_modules/') ? folder.slice(0, folder.lastIndexOf('/node_modules/')) : ''
  }
}
