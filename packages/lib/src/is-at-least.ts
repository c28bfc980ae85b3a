type Version = readonly [major: number, minor: number]

export const isAtLeast = ([a, b]: Version, [c, d]: Version): boolean => a > c || (a === c && b >= d)
