/** What can be done about a user. Each action asks first if it takes something away, and says what happened. */
import { attempt, type Tagged } from '../../admin/tagged.ts'
import { gate, user as me } from '../../gate.ts'
import { server } from '../../server.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import type { MenuItem } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { type Link, type Person, userPath } from './types.ts'

interface Context {
  readonly user: Tagged<Person>
  readonly person: Person
  readonly onLink: (link: Link) => void
  /** Sessions, factors or rights have changed. */
  readonly onEnded: () => void
}

export function personActions(context: Context): {
  readonly quick: { readonly title: string; readonly act: () => void }
  readonly items: readonly MenuItem[]
} {
  const { person, user } = context
  const { username, disabled, must_change_password: isDue } = person
  const isMe = me.value?.sub === person.id
  return {
    quick: {
      title: person.has_password ? 'Reset link' : 'Invitation link',
      act: () => void makeLink(context),
    },
    items: [
      ...(server.mail && !disabled
        ? [
            {
              title: person.has_password ? 'Mail a reset link' : 'Mail an invitation',
              icon: 'link',
              disabled: (person.email ?? '') === '',
              act: () => void makeLink(context, { send: true }),
            } as const,
          ]
        : []),
      {
        title: isDue ? 'Do not require a new password' : 'Require a new password at sign-in',
        icon: 'key',
        disabled: !person.has_password,
        act: () =>
          void user.change(
            { must_change_password: !isDue },
            isDue
              ? word(`${username} may keep the password`)
              : word(`${username} must choose a new password at the next sign-in`),
          ),
      },
      { title: 'Sign out everywhere', icon: 'signout', act: () => void signOutEverywhere(context) },
      { title: 'Remove all second factors', icon: 'shield', act: () => void removeFactors(context) },
      'line',
      disabled
        ? {
            title: 'Enable',
            icon: 'check',
            act: () => void user.change({ disabled: false }, word(`${username} can sign in again`)),
          }
        : { title: 'Disable', icon: 'lock', danger: true, disabled: isMe, act: () => void disable(context) },
      { title: 'Delete', icon: 'trash', danger: true, disabled: isMe, act: () => void remove(context) },
    ],
  }
}

async function makeLink({ person, onLink }: Context, how: { readonly send?: boolean } = {}): Promise<void> {
  try {
    onLink((await gate.admin.links.create({ user: person.id, ...how })) as unknown as Link)
  } catch (error) {
    toastError(error)
  }
}

async function signOutEverywhere({ person, onEnded }: Context): Promise<void> {
  const isAgreed = await confirm({
    title: `Sign ${person.username} out everywhere?`,
    text: 'All browser sessions end, all tokens of applications are revoked, and open streaming connections are closed. They can sign in again.',
    action: 'Sign out everywhere',
    danger: true,
  })
  if (!isAgreed) return
  try {
    const reply = await gate.json(userPath(person.id, 'sessions'), { method: 'DELETE' })
    const { ended, grants, streams } = reply as { ended: number; grants: number; streams: number }
    toast(signedOutText(person.username, ended, grants, streams))
    onEnded()
  } catch (error) {
    toastError(error)
  }
}

function signedOutText(username: string, ended: number, grants: number, streams: number): string {
  const sessions = ended === 1 ? word('1 session') : word(`${ended} sessions`)
  const access = grants === 1 ? word('1 grant') : word(`${grants} grants`)
  const connections = streams === 1 ? word('1 streaming connection') : word(`${streams} streaming connections`)
  return word(`${username} was signed out: ${sessions}, ${access} and ${connections} ended`)
}

async function removeFactors({ person, user, onEnded }: Context): Promise<void> {
  const ids: string[] = []
  try {
    for await (const { id } of gate.admin.of(person.id, 'factors').list()) ids.push(String(id))
  } catch (error) {
    toastError(error)
    return
  }
  if (ids.length === 0) {
    toast(word(`${person.username} has no second factor`), { kind: 'info' })
    return
  }
  const isAgreed = await confirm({
    title:
      ids.length === 1
        ? `Remove 1 second factor of ${person.username}?`
        : `Remove ${ids.length} second factors of ${person.username}?`,
    text: 'Until they set up another one, the password alone is enough, unless a role or an application requires a second factor.',
    action: 'Remove',
    danger: true,
  })
  if (!isAgreed) return
  const factors = gate.admin.of(person.id, 'factors')
  await attempt(
    async () => {
      for (const id of ids) await factors.delete(id)
    },
    ids.length === 1
      ? word(`1 second factor of ${person.username} removed`)
      : word(`${ids.length} second factors of ${person.username} removed`),
  )
  user.reload()
  onEnded()
}

async function disable({ person, user, onEnded }: Context): Promise<void> {
  const isAgreed = await confirm({
    title: `Disable ${person.username}?`,
    text: 'They are signed out everywhere at once and cannot sign in until they are enabled again. Nothing else is lost.',
    action: 'Disable',
    danger: true,
  })
  if (isAgreed && (await user.change({ disabled: true }, word(`${person.username} was disabled`)))) onEnded()
}

async function remove({ person, user }: Context): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete ${person.username}?`,
    text: 'The profile, password, second factors, sessions and consents are deleted, and all tokens are revoked. This cannot be undone; to lock the user out, disable them.',
    action: 'Delete',
    danger: true,
    typed: person.username,
  })
  if (isAgreed && (await user.remove(word(`${person.username} was deleted`)))) go(href('people'), { replace: true })
}
