/** The logo: a bar-tailed godwit. */
export function Mark({ size = 32 }: { size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32" fill="currentColor">
      <path d="M1.5 20.6 8 15.4c2.6-2.3 5.2-2.8 7.4-3.6 1.6-.6 1.9-1.5 2-2.9a3.9 3.9 0 0 1 7.6-.7c.3 1 .2 1.9-.2 2.8-.9 2.1-1.6 3.4-2.1 5.2-1 3.6-4.3 5.4-8.2 5.4-3.7 0-6.5-.7-13-1z" />
      <path d="m24.7 7.3 7-1.700a.35.35 0 0 1 .2.67l-6.9 2.600z" />
      <path
        d="m12.5 20.5-1.3 4.3 1.1 4.700M16.6 20.500v4.300l1.2 4.7"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}
