#!/bin/sh
# Starts the job, sends dtlaunch a signal after the first checkpoint, and waits until all ranks have ended.
# usage: sh interrupt.sh SIGNAL OUTPUT_FOLDER
dtlaunch --notice-signal USR1 -np 2 dttrain arguments.toml --output_dir "$2" &
launcher=$!
while kill -0 $launcher && ! [ -e "$2/checkpoint-50" ]; do sleep 0.1; done
kill "-$1" $launcher
wait $launcher
flock "$2/dttrain.lock" true # rank 0 of a killed dtlaunch holds this lock until it has ended
