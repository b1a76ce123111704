/** Nimbus' OAuth 2.0 SDK for Java (com.nimbusds:oauth2-oidc-sdk) as a client of `profile: fapi2`. Needs Maven and a JDK. */
import { join } from 'node:path'
import { root } from '../support/clone.ts'
import { compileWithMaven, lacksMaven } from '../support/maven.ts'
import { startProgram, testProgram } from './program.ts'

const FOLDER = join(root, 'test/clients/nimbus')

testProgram('Nimbus', lacksMaven(), async () =>
  startProgram('java', ['-cp', await compileWithMaven(FOLDER), 'Fapi2'], FOLDER),
)
