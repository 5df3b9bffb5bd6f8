"""What annotation is worth: agreement, effort, curves of learning."""
