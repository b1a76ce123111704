/** SCIM 2.0 on both engines: one server for all suites, since starting one takes longer than most of them. */
import { after, before } from 'node:test'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type ScimServer, startScimServer } from './scim-server.ts'
import { attacksOnScim } from './suite/attacks.ts'
import { requestsOfDirectories } from './suite/directories.ts'
import { groupsOverScim } from './suite/groups.ts'
import { usersOverScim } from './suite/users.ts'

onEveryEngineInLongRuns('SCIM', (place, engine) => {
  // Complete when the first test begins.
  const server = {} as ScimServer
  before(async () => {
    Object.assign(server, await startScimServer(place()))
  })
  after(() => server.stop())

  usersOverScim(server)
  groupsOverScim(server)
  // Their subject is not the database.
  if (engine === 'sqlite') {
    requestsOfDirectories(server)
    attacksOnScim(server)
  }
})
