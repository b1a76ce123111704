/** The operator's logo and name, or those of Gatehouse. */
import { server } from '../server.ts'

export function Brand() {
  return (
    <span class="brand" title={server.name}>
      {server.logo === undefined ? <Mark /> : <img src={server.logo} alt="" />}
      <span class="brand-name">{server.name}</span>
    </span>
  )
}

function Mark() {
  return (
    <svg viewBox="0 0 36 36" aria-hidden="true" focusable="false">
      <rect class="mark" width="36" height="36" rx="9" />
      <path class="mark-line" d="M9 28V17a9 9 0 0 1 18 0v11M15 28V15.5M21 28V15.5M9.5 20h17" />
    </svg>
  )
}
