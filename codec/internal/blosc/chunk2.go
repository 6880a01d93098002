package blosc

const version2Stable = 5
