/** The first steps of a new installation, for an administrator: each is read from the server, and leads to where it is done. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { gate, may } from '../gate.ts'
import { server } from '../server.ts'
import { Button, classes, Icon, Section, useLoad } from '../ui/index.ts'
import { href } from './router.ts'

interface Step {
  readonly title: string
  readonly about: string
  readonly href: string
  /** Whether the link leads out of the console. */
  readonly external?: boolean
  readonly isDone: boolean
}

const KEY = 'gatehouse:first-steps'
const isHidden = signal(localStorage.getItem(KEY) === 'hidden')

/** Above `children`, which wait for the steps, so that nothing moves when those are known. */
export function FirstSteps({ children }: { readonly children: ComponentChildren }) {
  const isWanted = may('Identity/Admin') && !server.demo && !isHidden.value
  return isWanted ? <StepsAbove>{children}</StepsAbove> : children
}

/** No steps if they cannot be loaded: the page is about something else. */
function StepsAbove({ children }: { readonly children: ComponentChildren }) {
  const { data: steps, error } = useLoad(readSteps, [])
  if (steps === undefined && error === undefined) return null
  return (
    <>
      {steps !== undefined && <Steps steps={steps} />}
      {children}
    </>
  )
}

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  const left = steps.filter(({ isDone }) => !isDone).length
  if (left === 0) return null
  return (
    <Section
      title="First steps"
      about={`${steps.length - left} of ${steps.length} done`}
      actions={
        <Button size="small" kind="plain" onClick={hide}>
          Hide
        </Button>
      }
    >
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.title} class={classes('step', step.isDone && 'done')}>
            <span class="step-mark">{step.isDone && <Icon name="check" />}</span>
            <div>
              <a href={step.href} {...(step.external === true && { target: '_blank', rel: 'noreferrer' })}>
                {step.title}
              </a>
              {step.isDone && <span class="visually-hidden"> (done)</span>}
              <p>{step.about}</p>
            </div>
          </li>
        ))}
      </ol>
    </Section>
  )
}

function hide(): void {
  localStorage.setItem(KEY, 'hidden')
  isHidden.value = true
}

interface Items<T> {
  readonly items: readonly T[]
}

const ADMINISTRATION: ReadonlySet<string> = new Set(['Identity/Admin', 'Platform/Admin'])
/** A page of clients begins with those that are built in. */
const SOME = 10

async function readSteps(signal: AbortSignal): Promise<readonly Step[]> {
  const read = async <T,>(path: string) => (await (await gate.request(path, { signal })).json()) as T
  const [roles, users, clients, backups] = await Promise.all([
    read<Items<{ scopes: readonly string[] }>>('/admin/roles'),
    read<Items<object>>('/admin/users?limit=2'),
    read<Items<{ built_in?: boolean }>>(`/admin/clients?limit=${SOME}`),
    may('Platform/Admin') ? read<Items<{ kind: string }>>('/admin/backups') : undefined,
  ])
  return [
    {
      title: 'Create a role',
      about: 'What people may do, such as read market data and trade. You need one yourself to see market data.',
      href: href('people', 'roles', 'new'),
      isDone: roles.items.some(({ scopes }) => scopes.some((scope) => !ADMINISTRATION.has(scope))),
    },
    {
      title: 'Invite a person',
      about: 'They get a link to choose a password. A second administrator can help if you lose yours.',
      href: href('people', 'new'),
      isDone: users.items.length > 1,
    },
    {
      title: 'Connect an application',
      about: 'It gets a client id, and you get the code to paste.',
      href: href('applications', 'new'),
      isDone: clients.items.some(({ built_in: isBuiltIn }) => isBuiltIn !== true),
    },
    {
      title: 'Serve over TLS',
      about: server.issuer.startsWith('https:')
        ? `People reach this server at ${server.issuer}.`
        : 'The address begins with http, which works on this machine only. For everyone else, set a certificate and an https issuer.',
      href: `${server.base}/docs/install#3-the-settings`,
      external: true,
      isDone: server.issuer.startsWith('https:'),
    },
    ...(backups === undefined
      ? []
      : [
          {
            title: 'Take a backup',
            about: 'If the disk fails, everything on it is lost: users, keys and tables.',
            href: href('operations', 'backups'),
            isDone: backups.items.some(({ kind }) => kind === 'taken'),
          },
        ]),
  ]
}
